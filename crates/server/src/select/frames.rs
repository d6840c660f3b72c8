//! Fault injection between and inside the frames of an answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures::{FutureExt as _, Stream, StreamExt as _};
use s3s::dto::{
    RecordsEvent, SelectObjectContentEvent, SelectObjectContentEventStream, Stats, StatsEvent,
};
use s3s::stream::{ByteStream, DynByteStream};
use s3s::{S3Error, S3ErrorCode, S3Result, StdError};
use tokio::time::{Sleep, sleep};

use crate::faults::{FLUSH, Fault};

/// Returns the frames with a fault injected.
pub(super) fn with_fault(frames: DynByteStream, fault: Option<Fault>) -> DynByteStream {
    match fault {
        Some(fault) => Box::pin(Faulty { frames, fault, records: 0, state: State::Running }),
        None => frames,
    }
}

struct Faulty {
    /// The frames, one per item.
    frames: DynByteStream,
    fault: Fault,
    /// The number of `Records` frames so far.
    records: u64,
    state: State,
}

enum State {
    Running,
    /// The connection is cut after this pause, so that the bytes sent before arrive.
    Cutting(Pin<Box<Sleep>>),
    Ended,
    Silent,
}

/// The treatment of a frame.
enum Verdict {
    Pass,
    Cut,
    HalfThenCut,
    WholeThenCut,
    WholeThenSilence,
    Silence,
    Replace(Bytes),
    Swap(Bytes),
    Skip,
    End,
    Garble,
}

impl Faulty {
    fn judge(&self, frame: &[u8]) -> Verdict {
        let is = |kind: &str| event_type(frame) == Some(kind.as_bytes());
        let is_nth = |n: u64| is("Records") && self.records == n;
        match &self.fault {
            Fault::CutBeforeRecords(n) if is_nth(*n) => Verdict::Cut,
            Fault::CutInRecords(n) if is_nth(*n) => Verdict::HalfThenCut,
            Fault::CutAfterRecords(n) if is_nth(*n) => Verdict::WholeThenCut,
            Fault::SilentAfterRecords(n) if is_nth(*n) => Verdict::WholeThenSilence,
            Fault::SilentAfterRecords(_) if is("Stats") => Verdict::Silence,
            Fault::WrongCrc(n) if is_nth(*n) => Verdict::Garble,
            Fault::ErrorFrame { records, code } if is_nth(*records) || is("Stats") => {
                Verdict::Replace(error_frame(code))
            }
            Fault::Records(bytes) if is_nth(0) => Verdict::Swap(records_frame(bytes)),
            Fault::Records(_) if is("Records") => Verdict::Skip,
            // Stats that do not match the records would look like a lost message.
            Fault::Records(bytes) if is("Stats") && self.records > 0 => {
                Verdict::Swap(stats_frame(bytes))
            }
            Fault::MissingEnd if is("End") => Verdict::End,
            _ => Verdict::Pass,
        }
    }
}

impl Stream for Faulty {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.state {
            State::Running => {}
            State::Cutting(pause) => {
                ready!(pause.as_mut().poll(cx));
                self.state = State::Ended;
                return Poll::Ready(Some(Err(
                    io::Error::from(io::ErrorKind::ConnectionReset).into()
                )));
            }
            State::Ended => return Poll::Ready(None),
            // No waker is registered: the answer ends when its client leaves.
            State::Silent => return Poll::Pending,
        }
        let frame = match ready!(self.frames.as_mut().poll_next(cx)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        let verdict = self.judge(&frame);
        if event_type(&frame) == Some(b"Records") {
            self.records += 1;
        }
        match verdict {
            Verdict::Pass | Verdict::Garble | Verdict::Swap(_) | Verdict::Skip => {}
            Verdict::Cut | Verdict::HalfThenCut | Verdict::WholeThenCut => {
                self.state = State::Cutting(Box::pin(sleep(FLUSH)));
            }
            Verdict::Replace(_) | Verdict::End => self.state = State::Ended,
            Verdict::WholeThenSilence | Verdict::Silence => self.state = State::Silent,
        }
        Poll::Ready(match verdict {
            Verdict::Pass | Verdict::WholeThenCut | Verdict::WholeThenSilence => Some(Ok(frame)),
            Verdict::Silence => return Poll::Pending,
            Verdict::Cut | Verdict::Skip => return self.poll_next(cx),
            Verdict::HalfThenCut => Some(Ok(frame.slice(..frame.len() / 2))),
            Verdict::Replace(other) | Verdict::Swap(other) => Some(Ok(other)),
            Verdict::End => None,
            Verdict::Garble => {
                let mut frame = BytesMut::from(frame);
                // The last byte of the payload is followed by four bytes of checksum.
                if let Some(at) = frame.len().checked_sub(5) {
                    frame[at] ^= 1;
                }
                Some(Ok(frame.freeze()))
            }
        })
    }
}

impl ByteStream for Faulty {}

/// Returns the value of a frame's `:event-type` header.
fn event_type(frame: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| {
        let bytes = frame.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    let mut headers = frame.get(12..12 + word(4)?)?;
    while let Some((name_length, rest)) = headers.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*name_length))?;
        let ([_kind, high, low], rest) = rest.split_first_chunk()?;
        let (value, rest) =
            rest.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))?;
        if name == b":event-type" {
            return Some(value);
        }
        headers = rest;
    }
    None
}

/// Returns a complete error frame.
fn error_frame(code: &str) -> Bytes {
    let code = S3ErrorCode::from_bytes(code.as_bytes())
        .unwrap_or_else(|| S3ErrorCode::Custom(code.into()));
    frame(Err(S3Error::with_message(code, "injected")))
}

/// Returns a complete frame of records.
fn records_frame(bytes: &Bytes) -> Bytes {
    let records = RecordsEvent { payload: Some(bytes.clone()) };
    frame(Ok(SelectObjectContentEvent::Records(records)))
}

/// Returns a Stats frame for an answer with these records.
fn stats_frame(bytes: &Bytes) -> Bytes {
    let details = Stats {
        bytes_scanned: Some(0),
        bytes_processed: Some(0),
        bytes_returned: i64::try_from(bytes.len()).ok(),
    };
    frame(Ok(SelectObjectContentEvent::Stats(StatsEvent { details: Some(details) })))
}

fn frame(event: S3Result<SelectObjectContentEvent>) -> Bytes {
    let frames = futures::stream::iter([event]);
    let mut frames = SelectObjectContentEventStream::new(frames).into_byte_stream();
    frames.next().now_or_never().flatten().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    use s3s::dto::EndEvent;

    fn frames() -> DynByteStream {
        let records = |text: &'static str| {
            let payload = Some(Bytes::from_static(text.as_bytes()));
            Ok(SelectObjectContentEvent::Records(RecordsEvent { payload }))
        };
        let events = [
            records("1,2\n"),
            records("3,4\n"),
            Ok(SelectObjectContentEvent::Stats(StatsEvent { details: None })),
            Ok(SelectObjectContentEvent::End(EndEvent {})),
        ];
        SelectObjectContentEventStream::new(futures::stream::iter(events)).into_byte_stream()
    }

    /// Summarizes the frames by their kinds, with `?` for a frame without a kind and `!` for a cut.
    async fn outline(fault: Option<Fault>) -> String {
        let items: Vec<_> = with_fault(frames(), fault).collect().await;
        let names = items.iter().map(|item| match item {
            Ok(frame) => {
                let whole = frame.len() >= 4 && frame[..4] == (frame.len() as u32).to_be_bytes();
                match event_type(frame).filter(|_| whole) {
                    Some(kind) => String::from_utf8(kind.to_vec()).unwrap(),
                    None => "?".to_owned(),
                }
            }
            Err(_) => "!".to_owned(),
        });
        names.collect::<Vec<_>>().join(" ")
    }

    #[tokio::test]
    async fn faults_strike_where_they_are_meant_to() {
        let error = |records| Fault::ErrorFrame { records, code: "InternalError".to_owned() };
        for (fault, expected) in [
            (None, "Records Records Stats End"),
            (Some(Fault::CutBeforeRecords(0)), "!"),
            (Some(Fault::CutBeforeRecords(1)), "Records !"),
            (Some(Fault::CutInRecords(1)), "Records ? !"),
            (Some(Fault::CutAfterRecords(0)), "Records !"),
            (Some(Fault::WrongCrc(1)), "Records Records Stats End"),
            (Some(error(1)), "Records ?"),
            (Some(error(7)), "Records Records ?"),
            (Some(Fault::MissingEnd), "Records Records Stats"),
        ] {
            assert_eq!(outline(fault.clone()).await, expected, "{fault:?}");
        }
    }

    #[tokio::test]
    async fn a_garbled_frame_differs_in_one_bit_of_its_payload() {
        let good: Vec<_> = frames().collect().await;
        let bad: Vec<_> = with_fault(frames(), Some(Fault::WrongCrc(1))).collect().await;
        let (good, bad) = (good[1].as_ref().unwrap(), bad[1].as_ref().unwrap());
        let bits: u32 = good.iter().zip(bad).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!((good.len(), bits), (bad.len(), 1));
    }

    #[tokio::test]
    async fn a_silent_answer_neither_goes_on_nor_ends() {
        for (fault, before) in [(0, 1), (1, 2), (7, 2)] {
            let mut answer = with_fault(frames(), Some(Fault::SilentAfterRecords(fault)));
            for _ in 0..before {
                assert!(answer.next().await.unwrap().is_ok());
            }
            assert!(answer.next().now_or_never().is_none(), "{fault}");
        }
    }

    #[test]
    fn an_injected_error_names_its_code() {
        let frame = error_frame("SlowDown");
        assert!(frame.windows(8).any(|w| w == b"SlowDown"));
        assert!(error_frame("MyOwn").windows(5).any(|w| w == b"MyOwn"));
    }
}
