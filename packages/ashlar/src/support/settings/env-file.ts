import { readFileSync } from "node:fs";
import { ConfigurationError } from "../errors.ts";

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns the text of a `.env` file.
 *
 * @param path the file's path
 * @returns `null` if there is no file
 * @throws `E_INVALID_CONFIGURATION` if the file can't be read or isn't UTF-8, with advice; the message contains nothing
 * from the file
 */
export function readEnvFile(path: string): string | null {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw unreadable(path, code);
  }
  try {
    const text = UTF8.decode(bytes);
    // UTF-16 without a byte order mark can be decoded as UTF-8, with a NUL after every ASCII character.
    if (!text.includes("\0")) return text;
  } catch {
    // The problem is reported below, without the decoder's error.
  }
  throw new ConfigurationError(path, "The file is not UTF-8 text.", "Save it as UTF-8 in your editor.");
}

function unreadable(path: string, code: string | undefined): ConfigurationError {
  if (code === "EISDIR") {
    return new ConfigurationError(
      path,
      "This is a directory, but it must be a file.",
      "Remove it, and run: npx ashlar key:generate",
    );
  }
  if (code === "EACCES" || code === "EPERM") {
    return new ConfigurationError(
      path,
      "This user has no permission to read the file.",
      `Run the command as the file's owner, or give this user permission: chmod u+r "${path}"`,
    );
  }
  return new ConfigurationError(path, `The file cannot be read (${code}).`, "Replace it with a readable one.");
}
