// semver doesn't have its own types. These are the functions that we use.

declare module "semver/functions/satisfies.js" {
  /**
   * Reports whether npm would install a version for a range. With `includePrerelease`, prereleases count like other
   * versions.
   */
  function satisfies(version: string, range: string, options?: { readonly includePrerelease?: boolean }): boolean;
  export = satisfies;
}

declare module "semver/functions/valid.js" {
  /** Returns a version in its usual form; `null` if the text isn't a version. */
  function valid(version: string): string | null;
  export = valid;
}

declare module "semver/ranges/gtr.js" {
  /** Reports whether a version is greater than all versions in a range. */
  function gtr(version: string, range: string, options?: { readonly includePrerelease?: boolean }): boolean;
  export = gtr;
}

declare module "semver/ranges/valid.js" {
  /** Returns a range in its usual form; `null` if the text isn't a range. */
  function validRange(range: string): string | null;
  export = validRange;
}
