//! `typeof(x)`: the SQL type of a value.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use sluicegate_guards::sql_types::sql_type;

/// Returns the function, to be registered with a session.
pub(crate) fn type_of() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(TypeOf { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [field] = args.arg_fields.as_slice() else { return exec_err!("typeof takes a value") };
        Ok(ColumnarValue::Scalar(ScalarValue::from(sql_type(field.data_type()).as_ref())))
    }
}
