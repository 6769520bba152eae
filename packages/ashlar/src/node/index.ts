export {
  isNodeResponse,
  type NodeParts,
  nodeParts,
  type PreparedResponse,
  parsedUrl,
  pendingResponse,
  preparedByNode,
  takenBytes,
  unblockStandardStream,
} from "./private-members.ts";
