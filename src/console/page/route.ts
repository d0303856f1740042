export type Query = Readonly<Record<string, string | undefined>>

/** The fragment of the address: a path and a query. The browser never sends it to a server. */
export interface Route {
  /** Decoded segments, such as `['log', 'NTF-…']`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** Parses the fragment of an address; a malformed one leads to the overview. */
export function parseRoute(hash: string): Route {
  const [path = '', ...query] = hash.slice(1).split('?')
  try {
    return {
      path: path.split('/').filter(Boolean).map(decodeURIComponent),
      query: Object.fromEntries(new URLSearchParams(query.join('?'))),
    }
  } catch {
    return { path: [], query: {} }
  }
}

/** The address of a view, without blank values. */
export function buildHref(path: readonly string[], query: Query = {}): string {
  return `#/${pathWith(path, query)}`
}

/** An encoded path and query, without blank parameters. */
export function pathWith(path: readonly string[], query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  return `${path.map(encodeURIComponent).join('/')}${search}`
}
