select
    g5,
    sum(f0) as sum_f0,
    sum(f1) as sum_f1,
    sum(f2) as sum_f2,
    sum(f3) as sum_f3
from
    skewed
group by
    g5
