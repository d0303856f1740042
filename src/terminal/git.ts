import { execFile } from 'node:child_process'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { CorrectableError } from '../service/text/faults.ts'

/** Throws CorrectableError if git does not know the revision; `choice` is the alternative named in the message. */
export async function checkRevision(revision: string, folder: string, choice: string): Promise<void> {
  try {
    await git(folder, 'rev-parse', '--quiet', '--verify', '--end-of-options', `${revision}^{commit}`)
  } catch (error) {
    const { code, stderr } = error as { code: unknown; stderr: string }
    if (code === 'ENOENT')
      throw new CorrectableError(
        `"${revision}" is not a ${choice}, and git is not installed: name a ${choice}`,
      )
    const detail = stderr === '' ? '' : ` (${stderr.trim()})`
    throw new CorrectableError(
      `"${revision}" is neither a ${choice} nor a git revision${detail}: name one that is`,
    )
  }
}

/** A file at a git revision. Throws CorrectableError if there is none. */
export async function readFileAt(revision: string, file: string): Promise<string> {
  try {
    return await git(dirname(file), 'show', '--end-of-options', `${revision}:./${basename(file)}`)
  } catch (error) {
    const { stderr } = error as { stderr: string }
    throw new CorrectableError(`git revision "${revision}" has no ${basename(file)}: ${stderr.trim()}`)
  }
}

/** The names of the files in a folder at a git revision, without subfolders. */
export async function listFilesAt(revision: string, folder: string): Promise<string[]> {
  const inFolder = ['ls-tree', '-z', '--end-of-options', revision, `${basename(folder)}/`]
  const listed = await git(dirname(folder), ...inFolder)
  return listed.split('\0').flatMap((entry) => {
    const [attributes = '', name = ''] = entry.split('\t')
    return attributes.includes(' blob ') ? [basename(name)] : []
  })
}

async function git(folder: string, ...args: string[]): Promise<string> {
  return (await promisify(execFile)('git', ['-C', folder, ...args], { maxBuffer: 64 * 1024 * 1024 })).stdout
}
