select
    *
from
    lineitem
where
    l_extendedprice between 33353.10 and 33353.20
