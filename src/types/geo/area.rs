//! What is searched.

use super::grid::{Position, Span};

/// The mean radius of the earth, as Redis has it.
const EARTH_RADIUS_M: f64 = 6_372_797.560856;
const RADIAN: f64 = std::f64::consts::PI / 180.0;

/// In the unit that the client chose.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Circle {
        radius: f64,
    },
    Box {
        width: f64,
        height: f64,
    },
    /// Its vertices, at least three. The last one is joined to the first.
    Polygon(Vec<Position>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Area {
    pub center: Position,
    pub shape: Shape,
    /// Metres in the client's unit.
    pub unit_m: f64,
}

impl Area {
    /// A polygon. Its centre is the middle of its vertices on the sphere.
    pub fn polygon(vertices: Vec<Position>) -> Area {
        let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
        for Position { lon, lat } in &vertices {
            let (lon, lat) = (lon * RADIAN, lat * RADIAN);
            x += lat.cos() * lon.cos();
            y += lat.cos() * lon.sin();
            z += lat.sin();
        }
        let (lon, lat) = (f64::atan2(y, x), f64::atan2(z, (x * x + y * y).sqrt()));
        let center = Position { lon: lon / RADIAN, lat: lat / RADIAN };
        Area { center, shape: Shape::Polygon(vertices), unit_m: 1.0 }
    }

    /// What the area lies in. Meridians converge, so it is as wide as at the end that is nearer to a pole.
    pub fn bounds(&self) -> Span {
        let (width, height) = match &self.shape {
            Shape::Circle { radius } => (*radius, *radius),
            Shape::Box { width, height } => (width / 2.0, height / 2.0),
            Shape::Polygon(vertices) => return bounds_of(vertices),
        };
        let (width_m, height_m) = (self.unit_m * width, self.unit_m * height);
        let Position { lon, lat } = self.center;
        let north_south = height_m / EARTH_RADIUS_M / RADIAN;
        let end = if lat < 0.0 { lat - north_south } else { lat + north_south };
        let east_west = width_m / EARTH_RADIUS_M / (end * RADIAN).cos() / RADIAN;
        Span { lon: (lon - east_west, lon + east_west), lat: (lat - north_south, lat + north_south) }
    }

    /// How far the area reaches from its centre.
    pub fn reach_m(&self) -> f64 {
        let reach = match &self.shape {
            Shape::Circle { radius } => *radius,
            Shape::Box { width, height } => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
            Shape::Polygon(vertices) => {
                let Span { lon, lat } = bounds_of(vertices);
                let corners = [(lon.0, lat.1), (lon.1, lat.1), (lon.0, lat.0), (lon.1, lat.0)];
                let distances = corners.map(|(lon, lat)| distance_m(self.center, Position { lon, lat }));
                distances.into_iter().fold(0.0, f64::max)
            }
        };
        reach * self.unit_m
    }

    /// The distance from the centre of what lies inside.
    pub fn distance_m(&self, place: Position) -> Option<f64> {
        match &self.shape {
            Shape::Polygon(vertices) => is_inside(vertices, place).then(|| distance_m(self.center, place)),
            Shape::Circle { radius } => {
                let distance = distance_m(self.center, place);
                // What is no number is not too far, as in Redis.
                if distance > radius * self.unit_m { None } else { Some(distance) }
            }
            Shape::Box { width, height } => {
                if meridian_m(place.lat, self.center.lat) > height * self.unit_m / 2.0 {
                    return None;
                }
                let beside = Position { lat: place.lat, ..self.center };
                if distance_m(place, beside) > width * self.unit_m / 2.0 {
                    return None;
                }
                Some(distance_m(self.center, place))
            }
        }
    }
}

fn bounds_of(vertices: &[Position]) -> Span {
    let ends = |of: fn(&Position) -> f64| {
        let places = vertices.iter().map(of);
        places.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), at| (min.min(at), max.max(at)))
    };
    Span { lon: ends(|vertex| vertex.lon), lat: ends(|vertex| vertex.lat) }
}

/// Whether a line from the place to the east crosses an odd number of sides, on the flat map.
fn is_inside(vertices: &[Position], place: Position) -> bool {
    let before = vertices.iter().cycle().skip(vertices.len().saturating_sub(1));
    let crossed = vertices.iter().zip(before).filter(|(a, b)| {
        (a.lat > place.lat) != (b.lat > place.lat)
            && place.lon < (b.lon - a.lon) * (place.lat - a.lat) / (b.lat - a.lat) + a.lon
    });
    crossed.count() % 2 == 1
}

/// Along a meridian.
fn meridian_m(from_lat: f64, to_lat: f64) -> f64 {
    EARTH_RADIUS_M * (to_lat * RADIAN - from_lat * RADIAN).abs()
}

/// Along a great circle, by the haversine formula.
pub fn distance_m(from: Position, to: Position) -> f64 {
    let v = ((to.lon * RADIAN - from.lon * RADIAN) / 2.0).sin();
    if v == 0.0 {
        return meridian_m(from.lat, to.lat);
    }
    let (from_lat, to_lat) = (from.lat * RADIAN, to.lat * RADIAN);
    let u = ((to_lat - from_lat) / 2.0).sin();
    let a = u * u + from_lat.cos() * to_lat.cos() * v * v;
    2.0 * EARTH_RADIUS_M * a.sqrt().asin()
}
