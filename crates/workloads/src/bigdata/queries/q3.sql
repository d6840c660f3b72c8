SELECT *
FROM rankings r
WHERE NOT EXISTS (
    SELECT 1
    FROM rankings s
    WHERE s.pageRank >= r.pageRank
      AND s.avgDuration >= r.avgDuration
      AND (s.pageRank > r.pageRank OR s.avgDuration > r.avgDuration)
)
