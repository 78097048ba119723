//! What a document is made of, for whoever has it read aloud: headings, tables with their heads,
//! figures with their words, and where on which page each is printed.

use pdf_writer::types::StructRole;

/// A place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) usize);

#[derive(Debug)]
pub(super) struct Node {
    pub(super) role: StructRole,
    pub(super) parent: Option<NodeId>,
    pub(super) kids: Vec<Kid>,
    /// What a figure shows, in words.
    pub(super) alternative: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kid {
    Node(NodeId),
    /// The mark of what is printed on a page.
    Print {
        page: usize,
        mark: i32,
    },
}

#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// By page and mark: whose print it is.
    pub(super) owners: Vec<Vec<NodeId>>,
}

impl Tree {
    pub(super) const ROOT: NodeId = NodeId(0);

    pub(super) fn new() -> Self {
        let root =
            Node { role: StructRole::Document, parent: None, kids: Vec::new(), alternative: None };
        Self { nodes: vec![root], owners: Vec::new() }
    }

    pub(super) fn add(&mut self, parent: NodeId, role: StructRole) -> NodeId {
        let id = NodeId(self.nodes.len());
        let node = Node { role, parent: Some(parent), kids: Vec::new(), alternative: None };
        self.nodes.push(node);
        self.nodes[parent.0].kids.push(Kid::Node(id));
        id
    }

    pub(super) fn describe(&mut self, node: NodeId, alternative: &str) {
        self.nodes[node.0].alternative = Some(alternative.to_owned());
    }

    /// The mark under which `node` prints next on `page`.
    pub(super) fn mark(&mut self, node: NodeId, page: usize) -> i32 {
        while self.owners.len() <= page {
            self.owners.push(Vec::new());
        }
        let mark = self.owners[page].len() as i32;
        self.owners[page].push(node);
        self.nodes[node.0].kids.push(Kid::Print { page, mark });
        mark
    }

    pub(super) fn role(&self, node: NodeId) -> StructRole {
        self.nodes[node.0].role
    }
}
