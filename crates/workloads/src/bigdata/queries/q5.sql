SELECT userAgent, MAX(adRevenue)
FROM uservisits
GROUP BY userAgent
