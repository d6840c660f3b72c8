//! An embedded store in a folder, with generated tables.

pub(super) mod measure;

use std::fmt::Display;

use sluicegate_client::{ConnectOptions, Credentials};
use sluicegate_costmodel::HardwareProfile;
use sluicegate_engine::Engine;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Server;
use sluicegate_workloads::{DataTable, Generate};

use super::generate::{bucket_store, create};
use crate::failure::Result;
use crate::output::progress;

/// Returns the options by which a client reaches the store.
pub(super) fn options(server: &Server) -> ConnectOptions {
    ConnectOptions {
        endpoint: Some(server.endpoint()),
        region: Some("us-east-1".to_owned()),
        credentials: Some(Credentials::new(server.access_key(), server.secret_key())),
        ..ConnectOptions::default()
    }
}

/// Builds an engine on the store that predicts with this hardware profile.
pub(super) async fn connect(server: &Server, hardware: &HardwareProfile) -> Result<Engine> {
    let builder = Engine::builder()
        .connect(options(server))
        .profile(StoreCapabilities::sluice())
        .hardware(hardware.clone());
    Ok(builder.build().await?)
}

/// Generates tables by requests to the store, and defines them.
pub(super) async fn load<T: DataTable>(
    engine: &Engine,
    bucket: &str,
    request: &Generate<T>,
    title: &str,
) -> Result<()> {
    let store = bucket_store(engine, bucket)?;
    let message = format!("loading {title} at scale {}", request.scale);
    progress::generate(request, store.as_ref(), &message).await?;
    define(engine, bucket, request).await
}

/// Defines tables whose objects exist.
pub(super) async fn define<T: DataTable>(
    engine: &Engine,
    bucket: &str,
    request: &Generate<T>,
) -> Result<()> {
    for table in &request.tables {
        let sql = create(request, &format!("s3://{bucket}"), *table);
        Box::pin(Box::pin(engine.query(&sql)).await?.collect()).await?;
    }
    Ok(())
}

/// Sets an option of the session, named without its prefix `sluice.`.
pub(super) async fn set(engine: &Engine, option: &str, value: impl Display) -> Result<()> {
    let set = Box::pin(engine.query(&format!("SET sluice.{option} = '{value}'"))).await?;
    Box::pin(set.collect()).await?;
    Ok(())
}
