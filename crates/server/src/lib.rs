//! What serves people and scripts over HTTP: the web interface. The only asynchronous code.

#![forbid(unsafe_code)]

pub mod web;
