//! The calls of Flight SQL.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::sql::metadata::{SqlInfoData, XdbcTypeInfoData};
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionBeginTransactionRequest,
    ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, ActionEndTransactionRequest, CommandGetCatalogs,
    CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys,
    CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables,
    CommandGetXdbcTypeInfo, CommandPreparedStatementQuery, CommandPreparedStatementUpdate,
    CommandStatementIngest, CommandStatementQuery, CommandStatementUpdate,
    DoPutPreparedStatementResult, ProstMessageExt, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{
    Action, ActionType, FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc,
    Ticket,
};
use prost::Message;
use sluicegate_postgres::SqlError;
use tokio::time::timeout;
use tonic::{Request, Response, Status};

use super::answer::{self, Messages};
use super::bounded::handle;
use super::cancel;
use super::connection::Connection;
use super::gate::Gate;
use super::parameters::{self, Rows};
use super::planned::{self, Planned, single};
use super::prepared;
use super::{errors, metadata};

/// The answer to an action.
type Results = <Gate as arrow_flight::flight_service_server::FlightService>::DoActionStream;
type Answer = Result<Response<Messages>, Status>;
type Info = Result<Response<FlightInfo>, Status>;

/// Marks a request that asks for columns only, so that no statement may run.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaOnly;

/// Answers the calls of clients that are admitted.
pub(super) struct Service {
    pub(super) statement_time: Option<Duration>,
    /// How long a client may take to send its parameters.
    pub(super) idle_time: Option<Duration>,
    pub(super) server: SqlInfoData,
    pub(super) types: XdbcTypeInfoData,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Service")
    }
}

fn failed(error: SqlError) -> Status {
    errors::status(&error)
}

/// Returns the information for an answer that is fetched with a ticket.
fn info(ticket: Vec<u8>, schema: Option<&Schema>, request: Request<FlightDescriptor>) -> Info {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket));
    let info = FlightInfo::new().with_endpoint(endpoint).with_descriptor(request.into_inner());
    let info = match schema {
        Some(schema) => info.try_with_schema(schema).map_err(|error| errors::of_arrow(&error))?,
        None => info,
    };
    Ok(Response::new(info))
}

/// Returns the information for an answer about the server. The ticket is the command itself.
fn about(
    command: impl ProstMessageExt,
    schema: &Schema,
    request: Request<FlightDescriptor>,
) -> Info {
    info(command.as_any().encode_to_vec(), Some(schema), request)
}

fn whole(batch: Result<RecordBatch, impl Into<Status>>) -> Answer {
    Ok(Response::new(answer::message(Ok(batch.map_err(Into::into)?))?))
}

fn nothing(schema: SchemaRef) -> Answer {
    Ok(Response::new(answer::message(Ok(RecordBatch::new_empty(schema)))?))
}

fn encoded(schema: &Schema) -> Result<IpcMessage, Status> {
    let options = IpcWriteOptions::default();
    let message = SchemaAsIpc::new(schema, &options).try_into();
    message.map_err(|error| errors::of_arrow(&error))
}

fn check_transaction(id: Option<&[u8]>) -> Result<(), Status> {
    match id {
        None | Some([]) => Ok(()),
        Some(_) => Err(transactions()),
    }
}

fn transactions() -> Status {
    errors::unsupported(
        "a transaction",
        "Run statements one by one: each is complete when it ends.",
    )
}

impl Service {
    /// Keeps a planned statement until its ticket comes.
    async fn keep(
        &self,
        connection: &Arc<Connection>,
        planned: Planned,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let planned = match request.extensions().get::<SchemaOnly>() {
            Some(SchemaOnly) => planned,
            None => {
                let finished = planned::finish(connection, planned, self.statement_time).await;
                finished.map_err(failed)?
            }
        };
        let handle = handle()?;
        let ticket = TicketStatementQuery { statement_handle: handle.clone().into() };
        let schema = planned.schema.as_deref().map(answer::sent_schema);
        connection.held().planned.push(handle, planned.bytes, planned);
        info(ticket.as_any().encode_to_vec(), schema.as_deref(), request)
    }

    async fn fetch(
        &self,
        connection: &Arc<Connection>,
        planned: Planned,
        handle: String,
    ) -> Answer {
        let started = planned::start(connection, planned, self.statement_time).await;
        let rows = started.map_err(failed)?;
        Ok(Response::new(answer::messages(rows, handle, connection, self.statement_time)))
    }

    async fn received(&self, request: Request<PeekableFlightDataStream>) -> Result<Rows, Status> {
        let read = parameters::read(request.into_inner());
        match self.idle_time {
            Some(limit) => timeout(limit, Box::pin(read)).await.map_err(|_| {
                Status::deadline_exceeded("the client took too long to send its parameters")
            })?,
            None => Box::pin(read).await,
        }
    }
}

#[tonic::async_trait]
impl FlightSqlService for Service {
    type FlightService = Self;

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Info {
        check_transaction(query.transaction_id.as_deref())?;
        let connection = Connection::of(&request)?;
        let statement = single(&query.query).map_err(failed)?.to_owned();
        let planned = planned::plan(&connection, vec![statement], self.statement_time).await;
        self.keep(&connection, planned.map_err(failed)?, request).await
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let connection = Connection::of(&request)?;
        let prepared = prepared::find(&connection, &query.prepared_statement_handle)?;
        let statements = prepared.statements().map_err(failed)?;
        let planned = planned::plan(&connection, statements, self.statement_time).await;
        self.keep(&connection, planned.map_err(failed)?, request).await
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        request: Request<Ticket>,
    ) -> Answer {
        let connection = Connection::of(&request)?;
        let handle = String::from_utf8_lossy(&ticket.statement_handle).into_owned();
        let planned = connection.held().planned.take(&handle);
        let planned = planned.ok_or_else(|| {
            Status::not_found(
                "there is no such query\nHint: Run it again; an answer can be fetched once, on the connection that asked for it.",
            )
        })?;
        self.fetch(&connection, planned, handle).await
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Answer {
        let connection = Connection::of(&request)?;
        let prepared = prepared::find(&connection, &query.prepared_statement_handle)?;
        let statements = prepared.statements().map_err(failed)?;
        let planned = planned::plan(&connection, statements, self.statement_time).await;
        self.fetch(&connection, planned.map_err(failed)?, handle()?).await
    }

    async fn do_put_statement_update(
        &self,
        update: CommandStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        check_transaction(update.transaction_id.as_deref())?;
        let connection = Connection::of(&request)?;
        let statement = single(&update.query).map_err(failed)?.to_owned();
        let updated = planned::update(&connection, vec![statement], self.statement_time).await;
        updated.map_err(failed)
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let connection = Connection::of(&request)?;
        let rows = self.received(request).await?;
        prepared::bind(&connection, &query.prepared_statement_handle, rows)?;
        let handle = Some(query.prepared_statement_handle);
        Ok(DoPutPreparedStatementResult { prepared_statement_handle: handle })
    }

    async fn do_put_prepared_statement_update(
        &self,
        update: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let connection = Connection::of(&request)?;
        let prepared = prepared::find(&connection, &update.prepared_statement_handle)?;
        let statements = match prepared.parameters() {
            0 => prepared.statements(),
            // Some drivers bind the values before.
            _ => match self.received(request).await? {
                rows if rows.is_empty() => prepared.statements(),
                rows => prepared.with(&rows),
            },
        };
        let statements = statements.map_err(failed)?;
        let updated = planned::update(&connection, statements, self.statement_time).await;
        updated.map_err(failed)
    }

    async fn do_put_statement_ingest(
        &self,
        _: CommandStatementIngest,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(errors::unsupported("bulk ingestion", "Write a file to the store, or use INSERT."))
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        check_transaction(query.transaction_id.as_deref())?;
        let connection = Connection::of(&request)?;
        let described = prepared::prepare(&connection, &query.query).await?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: described.handle.into(),
            dataset_schema: encoded(&described.columns)?.0,
            parameter_schema: encoded(&described.parameters)?.0,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        query: ActionClosePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<(), Status> {
        let handle = String::from_utf8_lossy(&query.prepared_statement_handle);
        Connection::of(&request)?.held().prepared.take(&handle);
        Ok(())
    }

    async fn do_action_begin_transaction(
        &self,
        _: ActionBeginTransactionRequest,
        _: Request<Action>,
    ) -> Result<ActionBeginTransactionResult, Status> {
        Err(transactions())
    }

    async fn do_action_end_transaction(
        &self,
        _: ActionEndTransactionRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Err(transactions())
    }

    async fn do_action_begin_savepoint(
        &self,
        _: ActionBeginSavepointRequest,
        _: Request<Action>,
    ) -> Result<ActionBeginSavepointResult, Status> {
        Err(transactions())
    }

    async fn do_action_cancel_query(
        &self,
        query: ActionCancelQueryRequest,
        request: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        let info = FlightInfo::decode(&*query.info);
        let info = info.map_err(|_| Status::invalid_argument("the query to stop is malformed"))?;
        let status = cancel::stop(&*Connection::of(&request)?, &info)?;
        // Both messages number the outcomes in the same way.
        Ok(ActionCancelQueryResult { result: status as i32 })
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Results>, Status> {
        let connection = Connection::of(&request)?;
        let result = cancel::action(&connection, request.get_ref())?;
        Ok(Response::new(Box::pin(futures::stream::iter([Ok(result)]))))
    }

    async fn list_custom_actions(&self) -> Option<Vec<Result<ActionType, Status>>> {
        Some(cancel::actions().map(Ok).collect())
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &query.into_builder().schema(), request)
    }

    async fn do_get_catalogs(&self, query: CommandGetCatalogs, request: Request<Ticket>) -> Answer {
        whole(metadata::catalogs(&Connection::of(&request)?, query).await)
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query.clone(), &query.into_builder().schema(), request)
    }

    async fn do_get_schemas(&self, query: CommandGetDbSchemas, request: Request<Ticket>) -> Answer {
        whole(metadata::schemas(&Connection::of(&request)?, query).await)
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query.clone(), &query.into_builder().schema(), request)
    }

    async fn do_get_tables(&self, query: CommandGetTables, request: Request<Ticket>) -> Answer {
        whole(metadata::tables_of(&Connection::of(&request)?, query).await)
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &query.into_builder().schema(), request)
    }

    async fn do_get_table_types(&self, query: CommandGetTableTypes, _: Request<Ticket>) -> Answer {
        whole(metadata::table_types(query))
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &self.server.schema(), request)
    }

    async fn do_get_sql_info(&self, query: CommandGetSqlInfo, _: Request<Ticket>) -> Answer {
        whole(query.into_builder(&self.server).build())
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &self.types.schema(), request)
    }

    async fn do_get_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        _: Request<Ticket>,
    ) -> Answer {
        whole(query.into_builder(&self.types).build())
    }

    async fn get_flight_info_primary_keys(
        &self,
        query: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &metadata::primary_keys(), request)
    }

    async fn do_get_primary_keys(&self, _: CommandGetPrimaryKeys, _: Request<Ticket>) -> Answer {
        nothing(metadata::primary_keys())
    }

    async fn get_flight_info_exported_keys(
        &self,
        query: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &metadata::foreign_keys(), request)
    }

    async fn do_get_exported_keys(&self, _: CommandGetExportedKeys, _: Request<Ticket>) -> Answer {
        nothing(metadata::foreign_keys())
    }

    async fn get_flight_info_imported_keys(
        &self,
        query: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &metadata::foreign_keys(), request)
    }

    async fn do_get_imported_keys(&self, _: CommandGetImportedKeys, _: Request<Ticket>) -> Answer {
        nothing(metadata::foreign_keys())
    }

    async fn get_flight_info_cross_reference(
        &self,
        query: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> Info {
        about(query, &metadata::foreign_keys(), request)
    }

    async fn do_get_cross_reference(
        &self,
        _: CommandGetCrossReference,
        _: Request<Ticket>,
    ) -> Answer {
        nothing(metadata::foreign_keys())
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
