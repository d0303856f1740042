/**
 * What policy administration answered about one party. A null address is not on file.
 * `error` is a reason that an operator can act on; it carries no contact data. `unasked`: no request was made for
 * this party, so that the failure says nothing about it.
 */
export type Contact =
  | { state: 'found'; email: string | null; phone: string | null }
  | { state: 'not found' }
  | { state: 'unresolved'; error: string; unasked: boolean }
