//! Whether a value is as a JSON Schema says, for unit tests and for those of the whole program.

use serde_json::Value;

pub(crate) fn takes(schema: &Value, value: &Value) -> bool {
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("it.json", schema.clone()).unwrap();
    let compiled = compiler.compile("it.json", &mut schemas).unwrap();
    schemas.validate(value, compiled).is_ok()
}
