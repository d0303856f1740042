import { createContext } from 'preact'
import type { RequestError } from './api.ts'
import type { Route } from './route.ts'

/** What a view says where the service refuses the token: the form for one takes its place, and says why. */
export const Refused = createContext<(error: RequestError) => void>(() => {})

/** Where one is, and how often one has gone somewhere, be it to the same place. */
export interface Visit extends Route {
  readonly visit: number
}

/** Goes to a view. To be where one goes already is a visit, too: one wants to see what is new. */
export function go(href: string): void {
  if (location.hash === href) dispatchEvent(new HashChangeEvent('hashchange'))
  else location.hash = href
}
