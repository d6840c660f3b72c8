//! The rows of a running query on their way to the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use datafusion::execution::SendableRecordBatchStream;
use futures::{Stream, StreamExt, TryStreamExt};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};
use tonic::Status;

use super::connection::{Connection, Waiting};
use super::errors;
use super::planned::timed_out;

/// The messages of an answer.
pub(super) type Messages = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// The rows of a query. Dropping them stops it.
struct Rows {
    /// `None` once the answer has ended.
    batches: Option<SendableRecordBatchStream>,
    schema: SchemaRef,
    connection: Arc<Connection>,
    handle: String,
    /// Ready once the client asked to stop the query.
    stop: Option<oneshot::Receiver<()>>,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Present while the client waits for the next rows. Without it, the server waits for the client.
    waiting: Option<Waiting>,
}

/// Returns the messages of a started query, which can be stopped by its handle.
pub(super) fn messages(
    batches: SendableRecordBatchStream,
    handle: String,
    connection: &Arc<Connection>,
    limit: Option<Duration>,
) -> Messages {
    let (sender, stop) = oneshot::channel();
    connection.held().running.insert(handle.clone(), sender);
    let schema = sent_schema(&batches.schema());
    let rows = Rows {
        batches: Some(batches),
        schema: Arc::clone(&schema),
        connection: Arc::clone(connection),
        handle,
        stop: Some(stop),
        deadline: limit.map(|limit| Box::pin(sleep(limit))),
        waiting: None,
    };
    encoded(schema, rows)
}

/// Returns the messages of an answer that is complete.
pub(super) fn message(batch: Result<RecordBatch, ArrowError>) -> Result<Messages, Status> {
    let batch = batch.map_err(|error| errors::of_arrow(&error))?;
    Ok(encoded(batch.schema(), futures::stream::iter([Ok(batch)])))
}

fn encoded(
    schema: SchemaRef,
    rows: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Messages {
    let encoder = FlightDataEncoderBuilder::new().with_schema(schema).build(rows);
    Box::pin(encoder.map_err(Status::from))
}

impl Rows {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch, Status>>> {
        let Some(batches) = &mut self.batches else { return Poll::Ready(None) };
        if let Some(stop) = &mut self.stop {
            match Pin::new(stop).poll(context) {
                Poll::Ready(Ok(())) => {
                    let status = Status::cancelled("the client stopped the query");
                    return Poll::Ready(Some(Err(status)));
                }
                Poll::Ready(Err(_)) => self.stop = None,
                Poll::Pending => {}
            }
        }
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Some(Err(errors::status(&timed_out()))));
        }
        batches.poll_next_unpin(context).map(|batch| {
            let batch = batch?.map_err(errors::of_datafusion);
            let schema = &self.schema;
            Some(batch.and_then(|it| sent(&it, schema).map_err(|error| errors::of_arrow(&error))))
        })
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch, FlightError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.poll(context);
        match &next {
            Poll::Pending if self.waiting.is_none() => {
                let connection = Arc::clone(&self.connection);
                self.waiting = Some(connection.waiting());
            }
            Poll::Pending => {}
            Poll::Ready(ready) => {
                self.waiting = None;
                self.connection.activity.touch();
                if !matches!(ready, Some(Ok(_))) {
                    self.batches = None;
                }
            }
        }
        next.map(|next| next.map(|it| it.map_err(|status| FlightError::Tonic(Box::new(status)))))
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.connection.held().running.remove(&self.handle);
    }
}

/// Returns the columns as they are sent. The JDBC driver (18.3) has no accessors for view types, and not every driver
/// reads runs and dictionaries, so these are sent as the plain types of their values. The optimizer may find a NULL where
/// the planner saw none, so that every column is nullable.
pub(super) fn sent_schema(schema: &Schema) -> SchemaRef {
    let nullable = |field: &FieldRef| Field::clone(&sent_field(field)).with_nullable(true);
    let fields = schema.fields().iter().map(nullable).collect::<Vec<_>>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn sent_field(field: &FieldRef) -> FieldRef {
    let kind = sent_type(field.data_type());
    match &kind == field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(Field::clone(field).with_data_type(kind)),
    }
}

fn sent_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => sent_type(values),
        DataType::RunEndEncoded(_, values) => sent_type(values.data_type()),
        DataType::List(field) | DataType::ListView(field) => DataType::List(sent_field(field)),
        DataType::LargeList(field) | DataType::LargeListView(field) => {
            DataType::LargeList(sent_field(field))
        }
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(sent_field(field), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(sent_field).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(sent_field(entries), *is_sorted),
        kind => kind.clone(),
    }
}

/// Returns rows with the columns that the client was told. A value that does not fit into its column is an error.
fn sent(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.num_columns() != schema.fields().len() {
        let message = "the answer has another number of columns than were planned";
        return Err(ArrowError::SchemaError(message.to_owned()));
    }
    let exact = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => cast_with_options(column, field.data_type(), &exact),
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, StringViewArray, UInt8Array};

    use super::*;

    #[test]
    fn rows_have_the_types_that_were_announced() {
        let text: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
        let number: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("t", text), ("n", number)]).unwrap();
        let planned = Schema::new(vec![
            Field::new("t", DataType::Utf8View, true),
            Field::new("n", DataType::Int64, true),
        ]);
        let schema = sent_schema(&planned);
        assert_eq!(schema.field(0).data_type(), &DataType::Utf8);
        let sent = sent(&batch, &schema).unwrap();
        assert_eq!(sent.column(0).as_string::<i32>().value(0), "a");
        assert_eq!(sent.column(1).data_type(), &DataType::Int64);
        super::sent(&batch.project(&[0]).unwrap(), &schema).unwrap_err();
    }

    #[test]
    fn nested_types_are_translated() {
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8View));
        let field = Arc::new(Field::new("a", dictionary, true));
        let kind = DataType::Struct(vec![Arc::clone(&field)].into());
        let expected = Arc::new(Field::new("a", DataType::Utf8, true));
        assert_eq!(sent_type(&kind), DataType::Struct(vec![Arc::clone(&expected)].into()));
        assert_eq!(sent_type(&DataType::ListView(field)), DataType::List(expected));
    }
}
