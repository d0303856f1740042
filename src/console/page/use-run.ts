import { useEffect, useRef, useState } from 'preact/hooks'

type Work = (signal: AbortSignal, setProgress: (words: string) => void) => Promise<void>

/** One run at a time, until it is stopped or its view is left. `progress` is null if nothing runs. */
export function useRun() {
  const [progress, setProgress] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const running = useRef<AbortController | null>(null)
  const stop = () => running.current?.abort()
  useEffect(() => stop, [])
  const start = async (work: Work) => {
    running.current = new AbortController()
    const { signal } = running.current
    setProblem(null)
    setProgress('Starting…')
    await work(signal, setProgress).catch((error: Error) => {
      if (!signal.aborted) setProblem(error.message)
    })
    setProgress(null)
  }
  return { progress, problem, start, stop }
}
