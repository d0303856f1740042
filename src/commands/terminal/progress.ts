import type { WriteStream } from 'node:tty'

const PAUSE_MS = 100

export interface Progress {
  /** Shows a line in place of the last one. */
  show(text: string): void
  /** Takes the line away, so that something else can be written. */
  clear(): void
}

/** One line on a terminal that tells how far a long command has come; elsewhere nothing is written. */
export function createProgress(stream: Pick<WriteStream, 'write'> & { isTTY?: boolean }): Progress {
  if (!stream.isTTY) return { show: () => {}, clear: () => {} }
  let shownAtMs = Number.NEGATIVE_INFINITY
  const erase = '\r\u001b[K'
  return {
    show: (text) => {
      const nowMs = performance.now()
      if (nowMs - shownAtMs < PAUSE_MS) return
      shownAtMs = nowMs
      stream.write(`${erase}${text}`)
    },
    clear: () => {
      stream.write(erase)
      shownAtMs = Number.NEGATIVE_INFINITY
    },
  }
}
