SELECT *
FROM uservisits
JOIN rankings ON uservisits.destURL = rankings.pageURL
