import { type Answer, judgeSilence } from './answer.ts'
import type { Answers } from './answers.ts'
import type { Connections } from './connections.ts'
import { Exchange } from './exchange.ts'

export interface ProbeNeeds {
  readonly answers: Answers
  readonly connections: Connections
  /** What precedes the party in the path of each request. */
  readonly pathPrefix: string
  readonly deadlineMs: number
}

/** Asks for one party, by which the circuit decides whether policy administration works. */
export function createProbe({ answers, connections, pathPrefix, deadlineMs }: ProbeNeeds) {
  /** Of any one of the `recentCount` parties whose turn came since the last probe, asked or answered by the circuit. */
  let recentPath = pathPrefix
  let recentCount = 0

  return {
    /** Each is as likely as any other, so that no order of the traffic can hide the healthy ones behind a broken one. */
    noteRecent(path: string): void {
      recentCount++
      if (Math.random() * recentCount < 1) recentPath = path
    },
    /** Asks in turn for a party that had an answer and for one that was looked up lately: either may be broken for good. */
    ask(earlierCount: number): Promise<Answer> {
      const path = earlierCount % 2 === 0 ? (answers.goodPath() ?? recentPath) : recentPath
      recentCount = 0
      const locator = decodeURIComponent(path.slice(pathPrefix.length))
      return new Promise((resolve) => {
        const exchange = new Exchange({ locator, path, isAlone: true }, (_, end) => {
          clearTimeout(timer)
          resolve(answers.judge(exchange, end))
        })
        const timer = setTimeout(() => {
          exchange.abandon()
          if (connections.isHttp2()) connections.renew()
          resolve(judgeSilence(deadlineMs))
        }, deadlineMs)
        connections.sendAlone(exchange)
      })
    },
  }
}
