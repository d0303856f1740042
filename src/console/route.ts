/** What stands behind the # of the address: a path, and what it is asked with. It is never sent to a server. */
export interface Route {
  /** Decoded, without the slashes in between: `['log', 'NTF-…']`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** Reads the fragment of an address; what cannot be read leads to the start. */
export function routeOf(hash: string): Route {
  const [path = '', query = ''] = split(hash.replace(/^#\/?/, ''), '?')
  try {
    return {
      path: path.split('/').filter(Boolean).map(decodeURIComponent),
      query: Object.fromEntries(new URLSearchParams(query)),
    }
  } catch {
    return { path: [], query: {} }
  }
}

/** The address of a view; blank values are left out. */
export function hrefOf(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const search = searchOf(query)
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Parameters as a URL has them, without those that are blank. */
export function searchOf(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return new URLSearchParams(given).toString()
}

function split(text: string, at: string): string[] {
  const index = text.indexOf(at)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}
