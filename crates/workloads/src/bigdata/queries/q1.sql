SELECT COUNT(*)
FROM rankings
WHERE avgDuration < 10
