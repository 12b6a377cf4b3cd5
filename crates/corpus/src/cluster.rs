//! Topic clusters: spherical k-means over TF-IDF vectors, as an overview for a reviewer.

use crate::{
    CorpusError,
    documents::Documents,
    minhash::split_mix,
    model::Model,
    settings::{ClusterAlgorithm, ClusterSettings},
};
use rayon::prelude::*;

/// Terms of a document with the greatest weights that are used. They hold the topic; the others add cost.
const TERMS: usize = 48;

/// Divisor of the number of documents: terms in more than this part say nothing of a topic (scikit-learn's
/// `max_df` of 0.5).
const COMMON: u32 = 2;

/// Terms in at most this many documents are never common, even in a small corpus.
const NEVER_COMMON: u32 = 10;

/// Number of documents from which centres are computed. Others are assigned to the nearest centre afterwards.
const LEARNT_FROM: usize = 20_000;

/// Maximum rounds of k-means, and of mini-batches.
const ROUNDS: usize = 12;
const BATCHES: usize = 60;
const BATCH: usize = 1024;

/// Maximum number of clusters if the number of documents decides.
const MOST: usize = 200;

/// Terms and documents shown of a cluster.
const SHOWN_TERMS: usize = 10;
const SHOWN_DOCUMENTS: usize = 5;

/// Topics of the documents.
#[derive(Debug)]
pub struct Clusters {
    /// Text → cluster.
    of_text: Vec<u32>,
    /// The clusters, the largest first.
    pub clusters: Vec<Cluster>,
}

/// Documents about one topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Number of documents.
    pub size: u64,
    /// Its strongest terms.
    pub terms: Vec<String>,
    /// Documents nearest to its centre, one per text.
    pub samples: Vec<u32>,
}

/// The strongest terms of a text with their weights, normalised to length one.
type Sparse = Vec<(u32, f32)>;

impl Clusters {
    /// The cluster of a text.
    #[must_use]
    pub fn of_text(&self, text: u32) -> Option<u32> {
        self.of_text.get(text as usize).copied()
    }

    pub(crate) fn find(
        model: &Model,
        documents: &Documents,
        settings: &ClusterSettings,
        seed: u64,
    ) -> Result<Option<Self>, CorpusError> {
        let texts = documents.distinct().len();
        let number = match settings.number {
            0 => (documents.len() as usize).isqrt().min(MOST),
            n => n,
        };
        let number = number.min(texts);
        if settings.algorithm == ClusterAlgorithm::None || number == 0 {
            return Ok(None);
        }
        let most = (documents.len() / COMMON).max(NEVER_COMMON);
        let mut random = seed ^ 0x746f_7069_6373;
        let mut sample: Vec<usize> = (0..texts).collect();
        shuffle(&mut sample, &mut random, LEARNT_FROM);
        sample.sort_unstable();
        let learnt: Result<Vec<Sparse>, _> =
            sample.par_iter().map(|text| strongest(model, *text, most)).collect();
        let learnt = learnt?;
        let mut centres = Centres::spread(&learnt, number, model.vocabulary.len(), &mut random);
        match settings.algorithm {
            ClusterAlgorithm::MiniBatch => centres.learn_by_batches(&learnt, &mut random),
            ClusterAlgorithm::KMeans | ClusterAlgorithm::None => centres.learn(&learnt),
        }
        drop(learnt);
        let assigned: Result<Vec<(u32, f32)>, CorpusError> = (0..texts)
            .into_par_iter()
            .map(|text| Ok(centres.nearest(&strongest(model, text, most)?)))
            .collect();
        Ok(Some(described(&centres, &assigned?, model, documents)))
    }
}

/// Draws `keep` elements without replacement to the front, and drops the others.
fn shuffle(all: &mut Vec<usize>, random: &mut u64, keep: usize) {
    for at in 0..keep.min(all.len()) {
        let rest = (all.len() - at) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "less than the number of elements")]
        let other = at + (split_mix(random) % rest) as usize;
        all.swap(at, other);
    }
    all.truncate(keep);
}

/// Computes weights as (1 + ln tf) · idf: a topic shows in the set of terms, not in the frequency of the
/// commonest one.
fn strongest(model: &Model, text: usize, most: u32) -> Result<Sparse, CorpusError> {
    let vector = crate::tfidf::Vector::from_bytes(&model.vectors.read(text)?);
    let weight = |(number, count): &(u32, u32)| {
        let term = model.vocabulary.term(*number).filter(|term| term.documents <= most)?;
        #[expect(clippy::cast_possible_truncation, reason = "clusters need no more than seven digits")]
        Some((*number, ((1.0 + f64::from(*count).ln()) * term.idf) as f32))
    };
    let mut weights: Sparse = vector.0.iter().filter_map(weight).collect();
    if weights.len() > TERMS {
        weights.select_nth_unstable_by(TERMS, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        weights.truncate(TERMS);
        weights.sort_unstable_by_key(|(term, _)| *term);
    }
    let length = weights.iter().map(|(_, w)| w * w).sum::<f32>().sqrt();
    if length > 0.0 {
        weights.iter_mut().for_each(|(_, w)| *w /= length);
    }
    Ok(weights)
}

/// Consecutive centres of length one.
struct Centres {
    number: usize,
    /// Weights of all centres by term: a document then reads one short run per term.
    weights: Vec<f32>,
}

impl Centres {
    /// Starts from documents far from each other (k-means++, Arthur and Vassilvitskii 2007).
    fn spread(documents: &[Sparse], number: usize, terms: usize, random: &mut u64) -> Self {
        let mut centres = Self { number, weights: vec![0.0; number * terms] };
        let mut distance: Vec<f32> = vec![1.0; documents.len()];
        for centre in 0..number {
            let total: f64 = distance.iter().copied().map(f64::from).sum();
            #[expect(clippy::cast_precision_loss, reason = "53 bits of 64 are random enough")]
            let mut draw = (split_mix(random) >> 11) as f64 / (1_u64 << 53) as f64 * total;
            let chosen = distance.iter().position(|d| {
                draw -= f64::from(*d);
                draw < 0.0
            });
            let Some(chosen) = chosen.and_then(|at| documents.get(at)) else { continue };
            for (term, weight) in chosen {
                centres.set(*term, centre, *weight);
            }
            distance.par_iter_mut().zip(documents).for_each(|(distance, document)| {
                *distance = distance.min((1.0 - dot(document, chosen)).max(0.0));
            });
        }
        centres
    }

    fn set(&mut self, term: u32, centre: usize, weight: f32) {
        if let Some(slot) = self.weights.get_mut(term as usize * self.number + centre) {
            *slot = weight;
        }
    }

    fn row(&self, term: u32) -> &[f32] {
        let start = term as usize * self.number;
        self.weights.get(start..start + self.number).unwrap_or_default()
    }

    /// The centre with the greatest cosine; of equal ones the first.
    fn nearest(&self, document: &Sparse) -> (u32, f32) {
        let mut scores = vec![0.0_f32; self.number];
        for (term, weight) in document {
            for (score, of_centre) in scores.iter_mut().zip(self.row(*term)) {
                *score += weight * of_centre;
            }
        }
        let mut best = (0, f32::NEG_INFINITY);
        for (centre, score) in (0..).zip(scores) {
            if score > best.1 {
                best = (centre, score);
            }
        }
        best
    }

    fn assign(&self, documents: &[Sparse]) -> Vec<u32> {
        documents.par_iter().map(|document| self.nearest(document).0).collect()
    }

    /// Runs rounds of k-means until no document moves. Sums follow the order of the documents, so that they
    /// do not depend on the number of threads.
    fn learn(&mut self, documents: &[Sparse]) {
        let mut before = Vec::new();
        for _ in 0..ROUNDS {
            let assigned = self.assign(documents);
            if assigned == before {
                return;
            }
            let mut sums = vec![0.0_f32; self.weights.len()];
            for (document, centre) in documents.iter().zip(&assigned) {
                for (term, weight) in document {
                    if let Some(sum) = sums.get_mut(*term as usize * self.number + *centre as usize) {
                        *sum += weight;
                    }
                }
            }
            // a centre that lost all its documents keeps its position
            let mut alive = vec![false; self.number];
            assigned.iter().for_each(|c| alive[*c as usize % self.number.max(1)] = true);
            for (at, (weight, sum)) in self.weights.iter_mut().zip(sums).enumerate() {
                if alive.get(at % self.number).is_some_and(|a| *a) {
                    *weight = sum;
                }
            }
            self.normalize();
            before = assigned;
        }
    }

    /// Moves centres toward the documents of random batches by decreasing steps (Sculley 2010).
    fn learn_by_batches(&mut self, documents: &[Sparse], random: &mut u64) {
        let mut seen = vec![0_u32; self.number];
        for _ in 0..BATCHES {
            let mut places: Vec<usize> = (0..documents.len()).collect();
            shuffle(&mut places, random, BATCH);
            let batch: Vec<Sparse> = places.iter().filter_map(|at| documents.get(*at)).cloned().collect();
            for (document, centre) in batch.iter().zip(self.assign(&batch)) {
                let Some(seen) = seen.get_mut(centre as usize) else { continue };
                *seen += 1;
                #[expect(clippy::cast_precision_loss, reason = "at most batches times their size")]
                let rate = 1.0 / *seen as f32;
                self.pull(document, centre as usize, rate);
            }
            self.normalize();
        }
    }

    fn pull(&mut self, document: &Sparse, centre: usize, rate: f32) {
        for weight in self.weights.iter_mut().skip(centre).step_by(self.number) {
            *weight *= 1.0 - rate;
        }
        for (term, weight) in document {
            if let Some(slot) = self.weights.get_mut(*term as usize * self.number + centre) {
                *slot += rate * weight;
            }
        }
    }

    fn normalize(&mut self) {
        let mut squares = vec![0.0_f32; self.number];
        for row in self.weights.chunks_exact(self.number) {
            squares.iter_mut().zip(row).for_each(|(square, weight)| *square += weight * weight);
        }
        for row in self.weights.chunks_exact_mut(self.number) {
            for (weight, square) in row.iter_mut().zip(&squares) {
                if *square > 0.0 {
                    *weight /= square.sqrt();
                }
            }
        }
    }

    /// The strongest terms of a centre, the strongest first.
    fn top(&self, centre: usize) -> Vec<u32> {
        let mut terms: Vec<(u32, f32)> = (0..)
            .zip(self.weights.iter().skip(centre).step_by(self.number).copied())
            .filter(|(_, w)| *w > 0.0)
            .collect();
        terms.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        terms.truncate(SHOWN_TERMS);
        terms.into_iter().map(|(term, _)| term).collect()
    }
}

fn dot(a: &Sparse, b: &Sparse) -> f32 {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum = 0.0;
    while let (Some((x, u)), Some((y, v))) = (a.peek().copied(), b.peek().copied()) {
        if x == y {
            sum += u * v;
        }
        if x <= y {
            a.next();
        }
        if y <= x {
            b.next();
        }
    }
    sum
}

/// Clusters with documents, the largest first, named by their terms and the documents nearest to their
/// centres.
fn described(centres: &Centres, assigned: &[(u32, f32)], model: &Model, documents: &Documents) -> Clusters {
    let mut nearest: Vec<Vec<(u32, f32)>> = vec![Vec::new(); centres.number];
    let mut sizes = vec![0_u64; centres.number];
    for ((text, (centre, score)), distinct) in (0..).zip(assigned).zip(documents.distinct()) {
        if let Some((of_centre, size)) =
            nearest.get_mut(*centre as usize).zip(sizes.get_mut(*centre as usize))
        {
            of_centre.push((text, *score));
            *size += u64::from(distinct.documents);
        }
    }
    let mut order: Vec<usize> =
        (0..centres.number).filter(|c| sizes.get(*c).is_some_and(|s| *s > 0)).collect();
    order.sort_by_key(|c| std::cmp::Reverse(sizes.get(*c).copied()));
    let mut place = vec![0; centres.number];
    let mut clusters = Vec::new();
    for (rank, centre) in (0_u32..).zip(order) {
        if let Some(slot) = place.get_mut(centre) {
            *slot = rank;
        }
        let texts = nearest.get_mut(centre).map(std::mem::take).unwrap_or_default();
        let name = |term: u32| model.vocabulary.text(term).unwrap_or_default().to_owned();
        clusters.push(Cluster {
            size: sizes.get(centre).copied().unwrap_or(0),
            terms: centres.top(centre).into_iter().map(name).collect(),
            samples: samples(texts, documents),
        });
    }
    let of_text = assigned.iter().map(|(c, _)| place.get(*c as usize).copied().unwrap_or(0)).collect();
    Clusters { of_text, clusters }
}

fn samples(mut texts: Vec<(u32, f32)>, documents: &Documents) -> Vec<u32> {
    texts.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let first = |(text, _): &(u32, f32)| documents.distinct().get(*text as usize).map(|t| t.first);
    texts.iter().take(SHOWN_DOCUMENTS).filter_map(first).collect()
}
