import { pathWith, type Query } from './route.ts'

/** A failed request, with the reason in words. `status` is 0 if there was no response. */
export class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const TOKEN = 'notifications-token'

/** The token for requests, kept in this tab until it is closed. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value: string) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),
}

/** Longer than the service waits for its database. */
const READ_MS_MAX = 30_000

/** Reads console data. Rejects with a RequestError, or with an AbortError once `signal` is aborted. */
export async function read<Data>(path: readonly string[], query: Query, signal: AbortSignal): Promise<Data> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(READ_MS_MAX)])
  const response = await request(pathWith(path, query), {}, signal, inTime)
  return readJson(response, signal)
}

/** Reads the pages of a list, from the cursor of the query on. Rejects like `read`. */
export async function* readPages<Page extends { readonly nextCursor: string | null }>(
  path: readonly string[],
  query: Query,
  signal: AbortSignal,
): AsyncGenerator<Page> {
  for (let cursor: string | null | undefined = query.cursor; cursor !== null; ) {
    const page: Page = await read(path, { ...query, cursor }, signal)
    yield page
    cursor = page.nextCursor
  }
}

function readJson(response: Response, signal: AbortSignal) {
  return response.json().catch((error: Error) => {
    if (signal.aborted) throw error
    throw error instanceof SyntaxError
      ? new RequestError(response.status, 'The response is not valid JSON.')
      : new RequestError(0, 'The connection was lost.')
  })
}

/** Posts JSON to the console's data. Rejects like `read`. */
export async function post<Data>(path: readonly string[], body: object, signal: AbortSignal): Promise<Data> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(READ_MS_MAX)])
  const headers = { 'content-type': 'application/json' }
  const response = await request(
    pathWith(path, {}),
    { method: 'POST', headers, body: JSON.stringify(body) },
    signal,
    inTime,
  )
  return readJson(response, signal)
}

/** `inTime` is aborted with `signal`, or after too long a time. */
async function request(
  path: string,
  init: RequestInit,
  signal: AbortSignal,
  inTime: AbortSignal,
): Promise<Response> {
  const held = token.get()
  const response = await fetch(`console/data/${path}`, {
    ...init,
    headers: { ...init.headers, ...(held !== null && { authorization: `Bearer ${held}` }) },
    credentials: 'omit',
    redirect: 'error',
    signal: inTime,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error
    throw new RequestError(0, 'The service did not respond.')
  })
  if (response.ok) return response
  const isTokenMissing = response.status === 401 && held === null
  throw new RequestError(response.status, isTokenMissing ? TOKEN_REQUIRED : await readProblem(response))
}

const TOKEN_REQUIRED = 'Only administrators may see member data: a token is required.'

async function readProblem(response: Response): Promise<string> {
  const problem = await response.json().catch(() => ({}))
  const faults: { detail: string; parameter?: string }[] = problem.errors ?? []
  const details = faults.map(({ parameter, detail }) => `${parameter ?? ''} ${detail}`.trim())
  return [problem.detail ?? problem.title ?? `Status ${response.status}.`, ...details].join(' ')
}
