import { createContext } from 'preact'
import type { RequestError } from './api.ts'

/** What a view says where the service refuses the token: the form for one takes its place, and says why. */
export const Refused = createContext<(error: RequestError) => void>(() => {})
