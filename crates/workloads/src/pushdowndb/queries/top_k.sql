select
    *
from
    lineitem
order by
    l_extendedprice,
    l_orderkey,
    l_linenumber
limit 1
