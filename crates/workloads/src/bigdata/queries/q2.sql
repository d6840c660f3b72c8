SELECT DISTINCT userAgent
FROM uservisits
