select *
from (
    select count(*) as h8_30
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 8
        and time_dim.t_minute >= 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s1,
(
    select count(*) as h9_00
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 9
        and time_dim.t_minute < 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s2,
(
    select count(*) as h9_30
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 9
        and time_dim.t_minute >= 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s3,
(
    select count(*) as h10_00
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 10
        and time_dim.t_minute < 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s4,
(
    select count(*) as h10_30
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 10
        and time_dim.t_minute >= 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s5,
(
    select count(*) as h11_00
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 11
        and time_dim.t_minute < 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s6,
(
    select count(*) as h11_30
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 11
        and time_dim.t_minute >= 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s7,
(
    select count(*) as h12_00
    from store_sales, household_demographics, time_dim, store
    where ss_sold_time_sk = time_dim.t_time_sk
        and ss_hdemo_sk = household_demographics.hd_demo_sk
        and ss_store_sk = s_store_sk
        and time_dim.t_hour = 12
        and time_dim.t_minute < 30
        and (
            (household_demographics.hd_dep_count = 4 and household_demographics.hd_vehicle_count <= 4 + 2)
            or (household_demographics.hd_dep_count = 2 and household_demographics.hd_vehicle_count <= 2 + 2)
            or (household_demographics.hd_dep_count = 0 and household_demographics.hd_vehicle_count <= 0 + 2)
        )
        and store.s_store_name = 'ese'
) as s8
