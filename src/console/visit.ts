import { createContext } from 'preact'
import type { RequestError } from './api.ts'
import type { Route } from './route.ts'

/** Called by a view when the service refuses the token: the token form replaces the view and shows the reason. */
export const Refused = createContext<(error: RequestError) => void>(() => {})

/** The current route; `visit` counts navigations, including those to the same place. */
export interface Visit extends Route {
  readonly visit: number
}

/** Navigates to a view. Navigating to the current view reloads its data. */
export function go(href: string): void {
  if (location.hash === href) dispatchEvent(new HashChangeEvent('hashchange'))
  else location.hash = href
}
