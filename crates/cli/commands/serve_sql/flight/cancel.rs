//! Actions that stop queries and end sessions.

use arrow_flight::sql::{Any, Command, TicketStatementQuery};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightInfo,
    Result as ActionResult,
};
use prost::Message;
use tonic::Status;

use super::connection::Connection;
use super::errors;

const CANCEL: &str = "CancelFlightInfo";
const CLOSE: &str = "CloseSession";
/// `CloseSessionResult` with the status CLOSED.
const CLOSED: &[u8] = &[8, 1];

/// Returns the actions beyond those of Flight SQL.
pub(super) fn actions() -> impl Iterator<Item = ActionType> {
    let actions = [
        (
            CANCEL,
            "Stops a query.\nRequest: CancelFlightInfoRequest\nResponse: CancelFlightInfoResult",
        ),
        (
            CLOSE,
            "Forgets what the client defined.\nRequest: CloseSessionRequest\nResponse: CloseSessionResult",
        ),
    ];
    actions.into_iter().map(|(name, description)| ActionType {
        r#type: name.to_owned(),
        description: description.to_owned(),
    })
}

/// Runs such an action.
pub(super) fn action(connection: &Connection, action: &Action) -> Result<ActionResult, Status> {
    match action.r#type.as_str() {
        CANCEL => {
            let request = CancelFlightInfoRequest::decode(&*action.body).ok();
            let info = request.and_then(|it| it.info).ok_or_else(malformed)?;
            let result = CancelFlightInfoResult::new(stop(connection, &info)?);
            Ok(ActionResult::new(result.encode_to_vec()))
        }
        CLOSE => {
            connection.reset();
            Ok(ActionResult::new(CLOSED))
        }
        other => Err(errors::unsupported(
            &format!("the action {:?}", other.chars().take(100).collect::<String>()),
            "ListActions lists those that are.",
        )),
    }
}

/// Stops the queries of a client, or drops those that have not begun.
pub(super) fn stop(connection: &Connection, info: &FlightInfo) -> Result<CancelStatus, Status> {
    let mut stopped = false;
    for endpoint in &info.endpoint {
        let Some(ticket) = &endpoint.ticket else { continue };
        let handle = handle(&ticket.ticket).ok_or_else(malformed)?;
        let mut held = connection.held();
        stopped |= held.planned.take(&handle).is_some();
        if let Some(stop) = held.running.remove(&handle) {
            // It fails if the query has just ended.
            stopped |= stop.send(()).is_ok();
        }
    }
    match stopped {
        true => Ok(CancelStatus::Cancelled),
        false => {
            Err(Status::not_found("the query has ended already, or is none of this connection"))
        }
    }
}

/// Returns the handle in the ticket of a query.
fn handle(ticket: &[u8]) -> Option<String> {
    match Command::try_from(Any::decode(ticket).ok()?).ok()? {
        Command::TicketStatementQuery(TicketStatementQuery { statement_handle }) => {
            String::from_utf8(statement_handle.to_vec()).ok()
        }
        _ => None,
    }
}

fn malformed() -> Status {
    Status::invalid_argument("the query to stop is malformed")
}

#[cfg(test)]
mod tests {
    use arrow_flight::sql::ProstMessageExt;

    use super::*;

    #[test]
    fn a_ticket_has_a_handle() {
        let ticket = TicketStatementQuery { statement_handle: "abc".into() };
        assert_eq!(handle(&ticket.as_any().encode_to_vec()).as_deref(), Some("abc"));
        assert_eq!(handle(b"\xff"), None);
        assert_eq!(actions().count(), 2);
    }
}
