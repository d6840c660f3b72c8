SELECT languageCode
FROM uservisits
GROUP BY languageCode
HAVING SUM(adRevenue) > 1000000
