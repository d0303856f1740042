import type { Notice } from '../model/service-status.ts'

/** Retries and retention compare times; a token is valid for minutes. */
const DIFFERENCE_MS_MAX = 30_000

export const CLOCKS_REMEDY =
  'have a time service (such as chrony) set the clocks of both machines: tokens, retries and retention compare times'

export function isOff(aheadMs: number): boolean {
  return Math.abs(aheadMs) > DIFFERENCE_MS_MAX
}

/** @param aheadMs how far the other clock is ahead of this machine's */
export function describeDifference(name: string, aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000)
  if (seconds <= 1) return `${name}: the same time`
  return `${name}: ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
}

export function judgeDatabaseClock(aheadMs: number): Notice | null {
  if (!isOff(aheadMs)) return null
  const text = `the clocks differ: ${describeDifference('database', aheadMs)}`
  return { subject: 'the clocks of this machine and of the database', text, remedy: CLOCKS_REMEDY }
}
