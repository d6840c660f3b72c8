select
    sum(o_totalprice) as total
from
    customer,
    orders
where
    o_custkey = c_custkey
    and c_acctbal <= -950
