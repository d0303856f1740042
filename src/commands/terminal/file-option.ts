import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Option } from 'commander'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** An option that names one of the service's own files, unless told otherwise; help shows it as in the repository. */
export function fileOption(flags: string, meaning: string, path: string): Option {
  return new Option(flags, meaning).default(path, relative(ROOT, path))
}
