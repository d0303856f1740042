import type { WriteStream } from 'node:tty'

const PAUSE_MS = 100

export interface Progress {
  /** Replaces the last line. */
  show(text: string): void
  /** Removes the line, so that other text can be written. */
  clear(): void
}

/** One line with the progress of a long command on a terminal; elsewhere nothing is written. */
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
