//! Several stores in one session.

use std::sync::Arc;

use datafusion::physical_plan::displayable;
use object_store::memory::InMemory;
use object_store::{ObjectStoreExt, path::Path};
use sluicegate_engine::Endpoint;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Operation;
use url::Url;

use crate::harness::{BUCKET, Store, rows, statements};

fn further(store: &Store) -> sluicegate_engine::EndpointBuilder {
    Endpoint::builder()
        .endpoint(store.server.endpoint())
        .credentials(store.server.access_key(), store.server.secret_key())
        .profile(StoreCapabilities::sluice())
}

#[tokio::test]
async fn each_bucket_is_asked_at_its_own_endpoint() {
    let (here, there) = (Store::start().await, Store::start().await);
    std::fs::create_dir(there.folder.path().join("archive")).unwrap();
    here.put("a.csv", "k,v\n1,10\n2,20\n");
    std::fs::write(there.folder.path().join("archive/b.csv"), "k,w\n1,7\n2,8\n3,9\n").unwrap();
    let engine = here.engine(Scan::Select).await;
    engine.register_endpoint("cold", &["archive"], further(&there)).await.unwrap();

    let sql = format!(
        "SELECT v, w FROM 's3://{BUCKET}/a.csv' a JOIN 's3://archive/b.csv' b ON a.k = b.k \
         WHERE v > 10 AND w > 7"
    );
    assert_eq!(rows(&engine, &sql).await, [r#""20" | "8""#]);
    let plan = engine.explain(&sql).await.unwrap().plan;
    let plan = displayable(plan.as_ref()).indent(false).to_string();
    assert!(plan.contains("endpoint=sluice, ") && plan.contains("endpoint=cold, "));
    for store in [&here, &there] {
        assert!(store.server.counters().requests(Operation::SelectObjectContent) > 0);
    }
    // Each store counts its own requests, and the total has both.
    let counted = engine.counted();
    let each = engine.endpoints().all().into_iter().map(|it| it.counters.read());
    assert_eq!(counted, each.sum());
    assert!(engine.endpoints().all().iter().all(|it| it.counters.read().select > 0));

    // An aggregate that is pushed down runs in the store of its table.
    assert_eq!(rows(&engine, "SELECT sum(w) FROM 's3://archive/b.csv'").await, [r#""24""#]);
    assert_eq!(statements(&engine, "SELECT sum(w) FROM 's3://archive/b.csv'").await.len(), 1);
}

#[tokio::test]
async fn a_name_and_a_bucket_belong_to_one_endpoint() {
    let (here, there) = (Store::start().await, Store::start().await);
    let engine = here.engine(Scan::Auto).await;
    let error = engine.register_endpoint("sluice", &["a"], further(&there)).await.unwrap_err();
    assert!(error.to_string().contains("there is an endpoint `sluice` already"), "{error}");
    engine.register_endpoint("cold", &["a"], further(&there)).await.unwrap();
    let error = engine.register_endpoint("colder", &["b", "a"], further(&there)).await.unwrap_err();
    assert!(error.to_string().contains("the bucket `a` belongs to another store"), "{error}");
    // The refused registration has no effect.
    assert!(engine.endpoints().get("colder").is_err());
    engine.register_endpoint("colder", &["b"], further(&there)).await.unwrap();
}

#[tokio::test]
async fn nothing_is_sent_about_a_bucket_of_another_store() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    let foreign = Arc::new(InMemory::new());
    foreign.put(&Path::from("c.csv"), "k,v\n1,10\n2,20\n".into()).await.unwrap();
    let url = Url::parse("s3://other").unwrap();
    engine.context().register_object_store(&url, foreign);

    let sql = "SELECT sum(v) FROM 's3://other/c.csv' WHERE k > 1";
    assert_eq!(rows(&engine, sql).await, [r#""20""#]);
    assert_eq!(statements(&engine, sql).await, Vec::<String>::new());
    assert_eq!(engine.explain(sql).await.unwrap().decisions.len(), 0);
    assert_eq!(store.server.counters().snapshot().requests.len(), 0);
    assert_eq!(engine.counted().requests(), 0);
    let error = engine.register_endpoint("cold", &["other"], further(&store)).await.unwrap_err();
    assert!(error.to_string().contains("the bucket `other` belongs to another store"), "{error}");
}

#[tokio::test]
async fn a_plan_runs_only_where_its_endpoint_is_known() {
    let store = Store::start().await;
    store.put("a.csv", "k,v\n1,10\n2,20\n");
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT v FROM 's3://{BUCKET}/a.csv' WHERE k > 1");
    let plan = engine.explain(&sql).await.unwrap().plan;
    let elsewhere = store.builder().build().await.unwrap();
    let here =
        datafusion::physical_plan::collect(Arc::clone(&plan), elsewhere.context().task_ctx());
    assert_eq!(here.await.unwrap()[0].num_rows(), 1);
    let profile = StoreCapabilities { name: "renamed".to_owned(), ..StoreCapabilities::sluice() };
    let nowhere = store.builder().profile(profile).build().await.unwrap();
    let error = datafusion::physical_plan::collect(plan, nowhere.context().task_ctx()).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the session has no endpoint `sluice`"), "{error}");
}
