//! Page for style sheets and filter lists.

/// A page, without its end, with elements that sheets and lists can match.
pub const PAGE: &str = r##"<body class="home dark">
<div id=top class="banner cookie-notice" data-kind="wide promo">Alpha bravo charlie delta echo.</div>
<main id=main><article class="post entry"><h1 lang=en-GB>Foxtrot golf hotel</h1>
<p id=one class=lead>India juliett kilo lima mike november oscar papa quebec romeo sierra tango uniform victor.</p>
<p class="x y">Whiskey xray yankee zulu amber basil cedar daisy <span class=hidden>elder fern ginger</span> hazel iris.</p>
<div class=box title="a b"><p>Jasmine kale laurel maple nettle olive poppy quince rowan sage thyme umbel vetch willow.</p>
<ul><li>Yarrow</li><li class=odd>zinnia</li><li><a href="/a?b=c" rel=next>aster</a></li></ul></div>
<section aria-hidden=false hidden><p>Birch clover dahlia elm fir gorse heather ivy juniper knapweed larch mallow.</p></section>
<button aria-controls=more>Narcissus</button><div id=more style="display:none">Oak pine reed spruce teasel.</div>
</article></main><footer class="site-footer legal">Walnut yew alder beech.</footer></body>"##;

/// Panics if the content has a word of letters that is not in the page.
pub fn only_words_of_the_page(content: &str) {
    let words = |text: &'static str| text.split(|c: char| !c.is_ascii_alphabetic());
    for word in content.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1) {
        assert!(words(PAGE).any(|known| known == word), "{word:?} is no word of the page: {content:?}");
    }
}
