//! The simple protocol: texts of several statements.

use crate::error::Severity;
use crate::lex;
use crate::server::backend::Session;
use crate::server::local::recognise;
use crate::server::portal::Portal;
use crate::server::session::Active;
use crate::server::socket::End;
use crate::wire::backend;

impl<S: Session> Active<'_, S> {
    /// Runs statements one after another, up to the first error.
    pub(super) async fn simple(&mut self, sql: &str) -> Result<(), End> {
        let statements = lex::statements(sql);
        if statements.is_empty() {
            backend::empty(&mut self.socket.output, b'I');
            return Ok(());
        }
        for (start, statement) in statements {
            self.begin();
            match self.simple_statement(statement).await {
                Ok(()) => {}
                Err(End::Error(mut error)) if error.severity == Severity::Error => {
                    // Places are those in the whole text.
                    let before = sql[..start].chars().count();
                    error.position = error.position.map(|position| position + before);
                    self.failed(&error);
                    return Ok(());
                }
                Err(end) => return Err(end),
            }
        }
        Ok(())
    }

    async fn simple_statement(&mut self, statement: &str) -> Result<(), End> {
        let local = recognise(statement)?;
        let mut portal = Portal::new(statement.to_owned(), local);
        self.check_transaction(&portal.local)?;
        self.start(&mut portal).await?;
        self.describe_portal(&mut portal, true)?;
        self.execute(&mut portal, None).await
    }
}
