import { type Answer, judgeAnswer, judgeFailure, type NameOf } from './answer.ts'
import type { Exchange, ExchangeEnd } from './exchange.ts'

export type Answers = ReturnType<typeof createAnswers>

/** Judges what exchanges came to, and remembers of the answers among them how long they took and who had one. */
export function createAnswers(nameOf: NameOf, nowMs: () => number) {
  let slowestMs = 0
  let answeredSinceMs = 0
  let goodPath: string | null = null

  function judge({ request, sinceMs }: Exchange, { status, chunks, error }: ExchangeEnd): Answer {
    if (error !== null) return judgeFailure(status, error)
    slowestMs = Math.max(nowMs() - sinceMs, slowestMs * 0.99)
    answeredSinceMs = Math.max(sinceMs, answeredSinceMs)
    const answer = judgeAnswer(status, chunks, request.locator, nameOf)
    if (answer.contact.state !== 'unresolved') goodPath = request.path
    return answer
  }

  return {
    judge,
    /** How long answers take: the slowest one, less a hundredth for each that came since. */
    slowestMs: () => slowestMs,
    /** Whether nobody had an answer who was asked for later than then. */
    isSilentSince: (sinceMs: number) => sinceMs >= answeredSinceMs,
    /** Of the last party that was found or not found; null until there was one. */
    goodPath: () => goodPath,
  }
}
