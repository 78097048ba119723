//! The objects of the file: pages, fonts, what is where, and what can be read aloud.

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{
    CidFontType, FontFlags, OutlineItemFlags, StructRole, SystemInfo, TabOrder, TableHeaderScope,
    UnicodeCmap,
};
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect, Ref, Str, TextStr};

use super::PdfError;
use super::font::{Font, Style};
use super::press::{MARGIN, Press, Type, name};
use super::tree::{Kid, Tree};
use crate::document::Document;
use crate::document::draw::Ink;

const LEVEL: u8 = 6;

/// Numbers of objects, in the order in which they are asked for.
struct Numbers(i32);

impl Numbers {
    fn next(&mut self) -> Ref {
        self.0 += 1;
        Ref::new(self.0)
    }

    fn several(&mut self, count: usize) -> Vec<Ref> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// Where what stands.
struct Places {
    catalog: Ref,
    pages: Vec<Ref>,
    page_tree: Ref,
    /// Those of which letters are used.
    fonts: Vec<(Style, Ref)>,
    nodes: Vec<Ref>,
    outline: Ref,
}

pub(super) fn write(mut press: Press, document: &Document) -> Result<Vec<u8>, PdfError> {
    feet(&mut press, &document.foot);
    bands(&mut press, &document.band);
    let mut numbers = Numbers(0);
    let used = Style::ALL.into_iter().filter(|style| !press.fonts.of(*style).used.is_empty());
    let places = Places {
        catalog: numbers.next(),
        pages: numbers.several(press.pages.len()),
        page_tree: numbers.next(),
        fonts: used.map(|style| (style, numbers.next())).collect(),
        nodes: numbers.several(press.tree.nodes.len()),
        outline: numbers.next(),
    };
    let mut pdf = Pdf::new();
    pages(&mut pdf, &mut numbers, &mut press, &places);
    for (style, place) in &places.fonts {
        font(&mut pdf, &mut numbers, *place, press.fonts.of(*style))?;
    }
    let tree = nodes(&mut pdf, &mut numbers, &press.tree, &places);
    outline(&mut pdf, &mut numbers, &press, &places);
    let info = numbers.next();
    pdf.document_info(info)
        .title(TextStr(&document.title))
        .subject(TextStr(&document.foot))
        .creator(TextStr("fullpipe"))
        .producer(TextStr("fullpipe"));
    let mut catalog = pdf.catalog(places.catalog);
    catalog.pages(places.page_tree).lang(TextStr("en"));
    catalog.pair(Name(b"StructTreeRoot"), tree);
    catalog.mark_info().marked(true);
    catalog.viewer_preferences().display_doc_title(true);
    if !press.headings.is_empty() {
        catalog.outlines(places.outline);
    }
    catalog.finish();
    Ok(pdf.finish())
}

/// The foot of each page, now that it is known how many there are.
fn feet(press: &mut Press, text: &str) {
    let letters = Type::regular(7.5).in_ink(Ink::Grey);
    let (width, height) = press.size();
    let count = press.pages.len();
    for page in 0..count {
        let number = format!("page {} of {count}", page + 1);
        let right = width - MARGIN - press.width_of(&number, letters);
        press.pages[page].begin_marked_content(Name(b"Artifact"));
        press.words_on(page, (MARGIN, height - 26.0), text, letters);
        press.words_on(page, (right, height - 26.0), &number, letters);
        press.pages[page].end_marked_content();
    }
}

/// The head of each page.
fn bands(press: &mut Press, text: &str) {
    let letters = Type::bold(10.0).in_ink(Ink::Brown);
    let left = (press.size().0 - press.width_of(text, letters)) / 2.0;
    for page in 0..press.pages.len() {
        press.pages[page].begin_marked_content(Name(b"Artifact"));
        press.words_on(page, (left, 26.0), text, letters);
        press.pages[page].end_marked_content();
    }
}

fn pages(pdf: &mut Pdf, numbers: &mut Numbers, press: &mut Press, places: &Places) {
    let (width, height) = press.size();
    let kids = places.pages.iter().copied();
    pdf.pages(places.page_tree).kids(kids).count(places.pages.len() as i32);
    for (number, content) in std::mem::take(&mut press.pages).into_iter().enumerate() {
        let stream = numbers.next();
        let mut page = pdf.page(places.pages[number]);
        page.parent(places.page_tree).contents(stream);
        page.media_box(Rect::new(0.0, 0.0, width as f32, height as f32));
        page.struct_parents(number as i32).tab_order(TabOrder::StructureOrder);
        let mut resources = page.resources();
        let mut fonts = resources.fonts();
        for (style, place) in &places.fonts {
            fonts.pair(name(*style), *place);
        }
        fonts.finish();
        resources.finish();
        page.finish();
        let bytes = Content::finish(content);
        let packed = compress_to_vec_zlib(&bytes, LEVEL);
        pdf.stream(stream, &packed).filter(Filter::FlateDecode);
    }
}

fn font(pdf: &mut Pdf, numbers: &mut Numbers, place: Ref, font: &Font) -> Result<(), PdfError> {
    const SYSTEM: SystemInfo<'_> =
        SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
    let [descendant, descriptor, file, words] =
        [numbers.next(), numbers.next(), numbers.next(), numbers.next()];
    // Six capital letters and a plus sign mark a subset of a font (ISO 32000-1, 9.6.4).
    let name = format!("FPIPEA+{}", font.name);
    let name = Name(name.as_bytes());
    let mut whole = pdf.type0_font(place);
    whole.base_font(name).encoding_predefined(Name(b"Identity-H"));
    whole.descendant_font(descendant).to_unicode(words);
    whole.finish();

    let mut cid = pdf.cid_font(descendant);
    cid.subtype(CidFontType::Type2).base_font(name).system_info(SYSTEM);
    cid.font_descriptor(descriptor).default_width(0.0);
    cid.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for (number, (_, width)) in &font.used {
        widths.same(*number, *number, *width);
    }
    widths.finish();
    cid.finish();

    let em = f32::from(font.face.units_per_em());
    let thousandths = |units: i16| f32::from(units) * 1000.0 / em;
    let bounds = font.face.global_bounding_box();
    let capitals = font.face.capital_height().unwrap_or_else(|| font.face.ascender());
    let mut descriptor = pdf.font_descriptor(descriptor);
    descriptor.name(name).flags(FontFlags::SYMBOLIC).italic_angle(0.0).stem_v(90.0);
    descriptor.bbox(Rect::new(
        thousandths(bounds.x_min),
        thousandths(bounds.y_min),
        thousandths(bounds.x_max),
        thousandths(bounds.y_max),
    ));
    descriptor.ascent(thousandths(font.face.ascender()));
    descriptor.descent(thousandths(font.face.descender()));
    descriptor.cap_height(thousandths(capitals)).font_file2(file);
    descriptor.finish();

    let letters = subsetter::subset(font.data, 0, &font.letters)?;
    let packed = compress_to_vec_zlib(&letters, LEVEL);
    let mut stream = pdf.stream(file, &packed);
    stream.filter(Filter::FlateDecode).pair(Name(b"Length1"), letters.len() as i32);
    stream.finish();

    let mut map = UnicodeCmap::new(Name(b"FullpipeWords"), SYSTEM);
    for (number, (c, _)) in &font.used {
        map.pair(*number, *c);
    }
    let packed = compress_to_vec_zlib(&map.finish(), LEVEL);
    pdf.cmap(words, &packed).filter(Filter::FlateDecode);
    Ok(())
}

/// What the document is made of; where its root stands.
fn nodes(pdf: &mut Pdf, numbers: &mut Numbers, tree: &Tree, places: &Places) -> Ref {
    let root = numbers.next();
    for (place, node) in tree.nodes.iter().enumerate() {
        let mut element = pdf.struct_element(places.nodes[place]);
        element.kind(node.role);
        element.parent(node.parent.map_or(root, |parent| places.nodes[parent.0]));
        if let Some(words) = &node.alternative {
            element.alt(TextStr(words));
        }
        if node.role == StructRole::TH {
            element.attributes().push().table().scope(TableHeaderScope::Column);
        }
        let mut kids = element.children();
        for kid in &node.kids {
            match kid {
                Kid::Node(id) => {
                    kids.struct_element(places.nodes[id.0]);
                }
                Kid::Print { page, mark } => {
                    kids.marked_content_ref().page(places.pages[*page]).marked_content_id(*mark);
                }
            }
        }
        kids.finish();
        element.finish();
    }
    let owners: Vec<(i32, Ref)> = tree
        .owners
        .iter()
        .enumerate()
        .map(|(page, owners)| {
            let list = numbers.next();
            let of = owners.iter().map(|owner| places.nodes[owner.0]);
            pdf.indirect(list).array().items(of);
            (page as i32, list)
        })
        .collect();
    let parents = numbers.next();
    let mut entries = pdf.number_tree::<Ref>(parents);
    let mut list = entries.nums();
    for (page, owners) in &owners {
        list.insert(*page, *owners);
    }
    list.finish();
    entries.finish();
    let mut whole = pdf.indirect(root).dict();
    whole.pair(Name(b"Type"), Name(b"StructTreeRoot"));
    whole.pair(Name(b"K"), places.nodes[Tree::ROOT.0]);
    whole.pair(Name(b"ParentTree"), parents);
    whole.pair(Name(b"ParentTreeNextKey"), owners.len() as i32);
    whole.finish();
    root
}

/// The headings beside the pages.
fn outline(pdf: &mut Pdf, numbers: &mut Numbers, press: &Press, places: &Places) {
    let items = numbers.several(press.headings.len());
    let (Some(first), Some(last)) = (items.first(), items.last()) else { return };
    let height = press.size().1;
    pdf.outline(places.outline).first(*first).last(*last).count(items.len() as i32);
    for (place, (text, page, at)) in press.headings.iter().enumerate() {
        let mut item = pdf.outline_item(items[place]);
        item.title(TextStr(text)).parent(places.outline).flags(OutlineItemFlags::empty());
        if let Some(before) = place.checked_sub(1) {
            item.prev(items[before]);
        }
        if let Some(next) = items.get(place + 1) {
            item.next(*next);
        }
        item.dest().page(places.pages[*page]).xyz(0.0, (height - at) as f32, None);
    }
}
