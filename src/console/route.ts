export type Query = Readonly<Record<string, string | undefined>>

/** The fragment of the address: a path and a query. The browser never sends it to a server. */
export interface Route {
  /** Decoded segments, such as `['log', 'NTF-…']`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** Parses the fragment of an address; a malformed one leads to the overview. */
export function routeOf(hash: string): Route {
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
export function hrefOf(path: readonly string[], query: Query = {}): string {
  const search = searchOf(query)
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** A query string without blank parameters. */
export function searchOf(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return new URLSearchParams(given).toString()
}
