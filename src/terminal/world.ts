/** The surroundings of a command: the process, or a stand-in of the tests. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  exitCode?: number | string | null | undefined
  exit(code: number): void
  once(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
}

export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean }
