/**
 * What policy administration said of one party. An address that is null is not on file.
 * `error` is a reason that an operator can act on; it carries no contact data. `unasked`: no request was made for
 * this party that might be made later, so that its failure says nothing of the party.
 */
export type Contact =
  | { state: 'found'; email: string | null; phone: string | null }
  | { state: 'not found' }
  | { state: 'unresolved'; error: string; unasked: boolean }
