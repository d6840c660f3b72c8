//! The calls of Flight, before it is known that they are of Flight SQL: every call passes here first.
//!
//! The gate checks the password, takes the place of a session, and notes that the client is there.

use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use futures::Stream;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

use super::answer::Messages;
use super::authentication::{Authentication, HEADER};
use super::cancel;
use super::connection::Connection;
use super::errors;
use super::service::{SchemaOnly, Service};

type Reply<T> = Result<Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Admits calls to the service.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) authentication: Authentication,
    pub(super) service: Service,
}

impl Gate {
    /// Admits a call.
    async fn admit<T>(&self, request: &Request<T>) -> Result<Call, Status> {
        let connection = Connection::of(request)?;
        self.authentication.check(request.metadata(), &connection.failures).await?;
        connection.admit()?;
        Ok(Call(connection))
    }
}

/// A call, whose end the client sees.
struct Call(Arc<Connection>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.activity.touch();
    }
}

#[tonic::async_trait]
impl FlightService for Gate {
    type HandshakeStream = Streamed<HandshakeResponse>;
    type ListFlightsStream = Streamed<FlightInfo>;
    type DoGetStream = Messages;
    type DoPutStream = Streamed<PutResult>;
    type DoExchangeStream = Messages;
    type DoActionStream = Streamed<arrow_flight::Result>;
    type ListActionsStream = Streamed<ActionType>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Reply<Self::HandshakeStream> {
        let _call = self.admit(&request).await?;
        let bearer = self.authentication.bearer();
        let reply = HandshakeResponse { protocol_version: 0, payload: bearer.clone().into() };
        let reply: Self::HandshakeStream = Box::pin(futures::stream::iter([Ok(reply)]));
        let mut response = Response::new(reply);
        let mut value = MetadataValue::try_from(bearer)
            .map_err(|_| Status::internal("the token cannot be sent"))?;
        value.set_sensitive(true);
        response.metadata_mut().insert(HEADER, value);
        Ok(response)
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Reply<Self::ListFlightsStream> {
        let _call = self.admit(&request).await?;
        Err(errors::unsupported("ListFlights", "Ask for the tables by Flight SQL."))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<FlightInfo> {
        let _call = self.admit(&request).await?;
        self.service.get_flight_info(request).await
    }

    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<PollInfo> {
        let _call = self.admit(&request).await?;
        Err(errors::unsupported("PollFlightInfo", "Use GetFlightInfo, which returns at once."))
    }

    async fn get_schema(&self, mut request: Request<FlightDescriptor>) -> Reply<SchemaResult> {
        let call = self.admit(&request).await?;
        request.extensions_mut().insert(SchemaOnly);
        let info = self.service.get_flight_info(request).await?.into_inner();
        let schema = info.schema.clone();
        // The query that was planned for it does not run.
        let _ = cancel::stop(&call.0, &info);
        Ok(Response::new(SchemaResult { schema }))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Reply<Self::DoGetStream> {
        let _call = self.admit(&request).await?;
        self.service.do_get(request).await
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Reply<Self::DoPutStream> {
        let _call = self.admit(&request).await?;
        self.service.do_put(request).await
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Reply<Self::DoExchangeStream> {
        let _call = self.admit(&request).await?;
        Err(errors::unsupported("DoExchange", "Use DoGet for queries and DoPut for updates."))
    }

    async fn do_action(&self, request: Request<Action>) -> Reply<Self::DoActionStream> {
        let _call = self.admit(&request).await?;
        self.service.do_action(request).await
    }

    async fn list_actions(&self, request: Request<Empty>) -> Reply<Self::ListActionsStream> {
        let _call = self.admit(&request).await?;
        self.service.list_actions(request).await
    }
}
