/**
 * What policy administration said of one party. An address that is null is not on file.
 * `error` is a reason that an operator can act on; it carries no contact data.
 */
export type Contact =
  | { state: 'found'; email: string | null; phone: string | null }
  | { state: 'not found' }
  | { state: 'unresolved'; error: string }
