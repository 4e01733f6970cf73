import { foldCheckpoints, readSessionHeader, replaySession as replay, type ReplayResult } from 'session-tape';

import { type IContent, withoutStoredResponses as map } from './content.js';

export { foldCheckpoints as foldCheckpointMetadata, readSessionHeader };

export const replaySession = (filePath: string, projectHash: string): Promise<ReplayResult<IContent>> =>
  replay<IContent>(filePath, projectHash, { strict: true, map });

export const replaySessionThroughSequence = (filePath: string, projectHash: string, throughSeq: number): Promise<ReplayResult<IContent>> =>
  replay<IContent>(filePath, projectHash, { strict: true, throughSeq, map });
