//! The command line as a user and a script meet it: words in; sentences, documents, exit codes out.

mod bad_input;
mod compare;
mod defaults;
mod documents;
mod evidence;
mod history;
mod junit;
mod older;
mod pdf;
mod plans;
mod report;
mod schema;
mod screen;
mod serve;
mod shell;
mod stock_iperf3;
mod titles;
mod ui;
