import { searchOf } from './route.ts'

/** A request that was not answered as it should: why, in words. `status` is 0 where there was no answer at all. */
export class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type Query = Readonly<Record<string, string | undefined>>

const TOKEN = 'notifications-token'

/** The token that requests carry; kept for this tab alone, and no longer than it is open. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value: string) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),
}

/** Reads data of the console. Rejects with a RequestError, or with an AbortError where `signal` says so. */
export async function read<Data>(path: readonly string[], query: Query, signal: AbortSignal): Promise<Data> {
  const search = searchOf(query)
  const url = `console/data/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
  const held = token.get()
  const response = await fetch(url, {
    headers: held === null ? {} : { authorization: `Bearer ${held}` },
    credentials: 'omit',
    redirect: 'error',
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error
    throw new RequestError(0, 'The service does not answer.')
  })
  if (!response.ok) {
    const isUnasked = response.status === 401 && held === null
    throw new RequestError(response.status, isUnasked ? TOKEN_WANTED : await problemOf(response))
  }
  return response.json().catch(() => {
    throw new RequestError(response.status, 'The answer cannot be read.')
  })
}

const TOKEN_WANTED = 'This service shows data of members to administrators only.'

/** The words of an RFC 9457 problem. */
async function problemOf(response: Response): Promise<string> {
  const problem = await response.json().catch(() => ({}))
  const faults: { detail: string; parameter?: string }[] = problem.errors ?? []
  const all = faults.map(({ parameter, detail }) => `${parameter ?? ''} ${detail}`.trim())
  return [problem.detail ?? problem.title ?? `Status ${response.status}.`, ...all].join(' ')
}
