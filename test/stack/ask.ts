import { readExposition } from '../service/telemetry/exposition.ts'
import { until } from './until.ts'

/** The status and the JSON of an answer. */
export async function ask(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asks for
  return { status: response.status, body: (await response.json()) as any }
}

/** Puts preferences as clients do. */
export function putPreferences(
  url: string,
  party: string,
  preferences: object,
  signal: AbortSignal | null = null,
) {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(preferences)
  return ask(`${url}/preferences/${party}`, { method: 'PUT', headers, body, signal })
}

export async function untilReady(url: string): Promise<void> {
  await until(async () => (await fetch(`${url}/readyz`)).ok, { what: 'the service to be ready' })
}

/** The metrics of a management listener. */
export async function scrape(managementUrl: string) {
  const response = await fetch(`${managementUrl}/metrics`)
  return readExposition(await response.text())
}
